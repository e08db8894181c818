// Follows what happens: when something has changed, the page is asked for again and its content is put in place.
// Without this script all pages work; they are reloaded by hand then.

const body = document.body;
const contact = document.getElementById("contact");
const clockAhead = Number(body.dataset.now) - Date.now();
const SILENT_MS_MAX = 10_000;
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

let heard = new Date();
let source;

function say(words, isLive) {
  if (!contact || contact.textContent === words) return;
  contact.textContent = words;
  contact.className = isLive ? "live" : "silent";
}

function hear() {
  heard = new Date();
  say(body.dataset.live, true);
}

// One at a time; what changes meanwhile is looked up once more afterwards.
let isAsking = false;
let isBehind = false;

async function ask() {
  if (isAsking) {
    isBehind = true;
    return;
  }
  isAsking = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const [fresh, old] = [page.getElementById("content"), document.getElementById("content")];
      // What somebody is typing stays.
      if (fresh && old && !old.contains(document.activeElement?.closest("form"))) {
        old.replaceChildren(...fresh.childNodes);
        turnPages();
      }
      hear();
    }
  } catch {
    // The stream says that there is no contact.
  } finally {
    isAsking = false;
    if (isBehind) {
      isBehind = false;
      ask();
    }
  }
}

function listen() {
  source = new EventSource("/events");
  source.addEventListener("open", () => {
    // What happened while there was no contact is not known.
    if (contact?.className === "silent") ask();
    hear();
  });
  source.addEventListener("change", () => {
    hear();
    ask();
  });
  source.addEventListener("beat", hear);
  source.addEventListener("error", () => {
    // A browser gives up on some errors for good.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2_000);
  });
}

// Clocks count down by themselves.
function tick() {
  const now = Date.now() + clockAhead;
  for (const clock of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.floor((Number(clock.dataset.until) - now) / 1_000));
    const parts = [left / 3_600, (left / 60) % 60, left % 60].map(Math.floor);
    clock.textContent = parts.map((part) => String(part).padStart(2, "0")).join(":");
  }
  if (source && Date.now() - heard > SILENT_MS_MAX) {
    say(body.dataset.noContact + time.format(heard), false);
  }
}

// The hall shows as many whole rows as there is room for, and the next ones after a while.
let page = 0;
let isPaused = false;
let turnsAt = 0;

function turnPages() {
  const pages = document.querySelector(".pages");
  if (!pages) return;
  const rows = [...pages.querySelectorAll("tbody tr")];
  rows.forEach((row) => (row.hidden = false));
  const top = rows[0]?.getBoundingClientRect();
  if (!top) return;
  const room = document.documentElement.clientHeight - top.top - (document.querySelector("footer")?.offsetHeight ?? 0);
  const tallest = Math.max(...rows.map((row) => row.getBoundingClientRect().height));
  const fitting = Math.max(1, Math.floor(room / tallest));
  const count = Math.ceil(rows.length / fitting);
  page %= count;
  rows.forEach((row, place) => (row.hidden = Math.floor(place / fitting) !== page));
  const number = pages.querySelector(".page");
  if (number) number.textContent = `${page + 1}/${count}${isPaused ? " " + pages.dataset.paused : ""}`;
}

function turn() {
  const pages = document.querySelector(".pages");
  if (!pages || isPaused || Date.now() < turnsAt) return;
  turnsAt = Date.now() + Number(pages.dataset.everyMs);
  page += 1;
  turnPages();
}

if (document.querySelector(".pages")) {
  turnsAt = Date.now() + 10_000;
  turnPages();
  addEventListener("resize", turnPages);
  addEventListener("keydown", (event) => {
    if (event.key === " " || event.key === "p") {
      isPaused = !isPaused;
      turnPages();
      event.preventDefault();
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      page = Math.max(0, page + (event.key === "ArrowRight" ? 1 : -1));
      turnPages();
    }
  });
}

if ("follows" in body.dataset) {
  // A browser opens few connections to a server, so pages that nobody sees give theirs back.
  const open = () => {
    if (document.visibilityState === "visible") {
      if (!source) {
        listen();
        ask();
      }
    } else {
      source?.close();
      source = undefined;
    }
  };
  document.addEventListener("visibilitychange", open);
  if (document.visibilityState === "visible") listen();
}
setInterval(() => {
  tick();
  turn();
}, 1_000);
