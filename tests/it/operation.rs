//! What operators set up around the service.

mod unit;
