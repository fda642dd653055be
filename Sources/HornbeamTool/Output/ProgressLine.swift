import HornbeamLists

/// The progress of a long operation: a bar that is redrawn on a terminal, or one plain line at the end.
struct ProgressLine {
    private let title: String
    private let isDrawn: Bool
    private let write: (String) -> Void
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var lastDrawn: ContinuousClock.Instant?

    /// - Parameter isDrawn: True when the output is a terminal.
    init(
        _ title: String, isDrawn: Bool = Console.isErrorTerminal,
        write: @escaping (String) -> Void = { Console.write($0, to: 2) }
    ) {
        self.title = title
        self.isDrawn = isDrawn
        self.write = write
        start = clock.now
    }

    /// - Parameter isSilent: True shows nothing.
    init(_ title: String, isSilent: Bool) {
        if isSilent { self.init(title, isDrawn: false) { _ in } } else { self.init(title) }
    }

    /// The time since the operation began.
    var elapsed: Duration { clock.now - start }

    /// Draws the bar, at most ten times a second.
    /// - Parameters:
    ///   - fraction: The completed fraction, 0 … 1.
    ///   - detail: The text after the bar.
    mutating func update(_ fraction: Double, _ detail: @autoclosure () -> String) {
        guard isDrawn else { return }
        let now = clock.now
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        lastDrawn = now
        write("\r\(Self.bar(fraction)) \(title): \(detail())\u{1B}[K")
    }

    /// Replaces the bar by one plain line.
    func finish(_ detail: String) {
        let clear = isDrawn ? "\r\u{1B}[K" : ""
        write("\(clear)\(title): \(detail)\n")
    }

    static func bar(_ fraction: Double) -> String {
        let fraction = min(1, max(0, fraction))
        let filled = Int((fraction * 30).rounded())
        let percent = String(Int((fraction * 100).rounded(.down))).paddedOnLeft(to: 3)
        return "[\(String(repeating: "█", count: filled))\(String(repeating: "·", count: 30 - filled))] \(percent) %"
    }
}
