//! What a query names: as much of PromQL as that takes.

/// Words that are no metrics, even where no parenthesis follows.
const WORDS: [&str; 20] = [
    "and",
    "or",
    "unless",
    "atan2",
    "offset",
    "bool",
    "inf",
    "nan",
    "sum",
    "min",
    "max",
    "avg",
    "group",
    "stddev",
    "stdvar",
    "count",
    "count_values",
    "bottomk",
    "topk",
    "quantile",
];
/// Words that labels in parentheses follow.
const GROUPINGS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// What a query names.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Names {
    /// Its selectors, each a metric and its matchers, as they are written.
    pub(super) selectors: Vec<Selector>,
    /// Labels by which it groups or matches.
    pub(super) labels: Vec<String>,
}

/// A metric and its matchers.
#[derive(Debug, PartialEq)]
pub(super) struct Selector {
    pub(super) metric: String,
    /// `{...}`, if it is there.
    pub(super) matchers: String,
    /// The labels that the matchers name.
    pub(super) labels: Vec<String>,
}

/// The words, strings and signs of a query, in their order.
fn tokens(expr: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = expr.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
        let length = match first {
            '"' | '\'' | '`' => string_length(rest, first),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        if first != '#' {
            tokens.push(&rest[..length]);
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let is_end = c == quote && !escaped;
        escaped = c == '\\' && !escaped && quote != '`';
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// What this query names. It must be one that Prometheus takes.
pub(super) fn names(expr: &str) -> Names {
    let tokens = tokens(expr);
    let token = |at: usize| tokens.get(at).copied().unwrap_or_default();
    let until = |at: usize, end: &str| {
        at + tokens[at..].iter().position(|token| *token == end).unwrap_or(tokens.len() - at)
    };
    let is_name =
        |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic() || "_:".contains(c));
    let mut found = Names::default();
    let mut at = 0;
    while at < tokens.len() {
        let word = token(at);
        let next = token(at + 1);
        if GROUPINGS.contains(&word) && next == "(" {
            let end = until(at, ")");
            let labels = tokens[at + 2..end].iter().filter(|token| is_name(token));
            found.labels.extend(labels.map(|label| (*label).to_owned()));
            at = end;
        } else if word == "[" {
            at = until(at, "]");
        } else if word == "{" || is_name(word) && next != "(" && !WORDS.contains(&word) {
            let metric = if word == "{" { String::new() } else { word.to_owned() };
            let start = if word == "{" { at } else { at + 1 };
            let end = if token(start) == "{" { until(start, "}") + 1 } else { start };
            let matchers = &tokens[start..end];
            let is_label = |pair: &&[&str]| is_name(pair[0]) && ["=", "!"].contains(&pair[1]);
            let labels = matchers.windows(2).filter(is_label).map(|pair| pair[0].to_owned());
            let (labels, matchers) = (labels.collect(), matchers.concat());
            found.selectors.push(Selector { metric, matchers, labels });
            at = end;
            continue;
        }
        at += 1;
    }
    found
}

#[test]
fn names_are_found_in_queries() {
    let cases: [(&str, &str, &str); 9] = [
        ("up", "up", ""),
        (r#"up{job="a b", x!~'}"'} == 0"#, r#"up{job="a b",x!~'}"'} job x"#, ""),
        ("rate(a_total[5m]) > 0.5e3", "a_total", ""),
        (
            "sum by (kind, le) (rate(a:b:c{x=~\"\\\"}\"}[5m:10s]))",
            r#"a:b:c{x=~"\"}"} x"#,
            "kind le",
        ),
        ("sum(a) without(x) / on (y) group_left (z) b offset 10m", "a b", "x y z"),
        ("a and b or c unless d", "a b c d", ""),
        ("histogram_quantile(0.99, a_bucket) # b", "a_bucket", ""),
        ("absent({__name__=\"a\"}) or time() - -inf", r#"{__name__="a"} __name__"#, ""),
        ("count(sum) by (by)", "", "by"),
    ];
    for (expr, selectors, labels) in cases {
        let found = names(expr);
        let words = found.selectors.iter().flat_map(|selector| {
            let whole = format!("{}{}", selector.metric, selector.matchers);
            std::iter::once(whole).chain(selector.labels.clone())
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), selectors, "{expr}");
        assert_eq!(found.labels.join(" "), labels, "{expr}");
    }
}
