//! The table at the end: measured, goal, met.

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Nothing: the figure is there to be read.
    None,
}

/// The rows of the table.
#[derive(Debug, Default)]
pub struct Figures {
    rows: Vec<[String; 4]>,
}

impl Figures {
    /// Adds a row. Numbers are shown with `digits` after the point.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        value: f64,
        digits: usize,
        unit: &str,
        goal: Goal,
    ) {
        let show = |value: f64| format!("{value:.digits$} {unit}").trim_end().to_owned();
        let (wanted, met) = match goal {
            Goal::AtMost(limit) => (format!("≤ {}", show(limit)), Some(value <= limit)),
            Goal::AtLeast(limit) => (format!("≥ {}", show(limit)), Some(value >= limit)),
            Goal::None => ("-".to_owned(), None),
        };
        let met = met.map_or("-", |met| if met { "yes" } else { "no" });
        self.rows.push([name.into(), show(value), wanted, met.to_owned()]);
    }

    /// Prints the table in the form that documents use.
    pub fn print(&self) {
        let head = ["figure", "measured", "goal", "met"].map(str::to_owned);
        let rule = ["---", "---:", "---:", "---"].map(str::to_owned);
        for [name, value, goal, met] in [&head, &rule].into_iter().chain(&self.rows) {
            println!("| {name:<46} | {value:>12} | {goal:>12} | {met:<4} |");
        }
    }
}
