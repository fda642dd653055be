import Foundation

/// Standard output and error, unbuffered.
enum Terminal {
    static func printLine(_ text: String) { write(text + "\n", to: 1) }
    static func printError(_ text: String) { write(text + "\n", to: 2) }

    static func write(_ text: String, to descriptor: Int32) {
        FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(Data(text.utf8))
    }

    static var isErrorTerminal: Bool { isatty(2) == 1 }
}

/// The progress of a run: a line that is redrawn on a terminal, and a plain line every half minute elsewhere.
struct Progress {
    private let title: String
    private let isDrawn = Terminal.isErrorTerminal
    private var next: Duration = .zero

    init(_ title: String) {
        self.title = title
        if !isDrawn { next = .seconds(30) }
    }

    mutating func update(_ count: Int, _ unit: String, _ elapsed: Duration, of share: Double) {
        guard elapsed >= next else { return }
        next = elapsed + (isDrawn ? .milliseconds(200) : .seconds(30))
        let text = "\(title): \(count.grouped) \(unit), \(Int(elapsed / .seconds(1))) s, \(Int(share * 100)) %"
        Terminal.write(isDrawn ? "\r\(text)\u{1B}[K" : text + "\n", to: 2)
    }

    func clear() {
        if isDrawn { Terminal.write("\r\u{1B}[K", to: 2) }
    }
}

extension Int {
    /// 63440 → "63,440".
    var grouped: String {
        let digits = Array(String(magnitude))
        var text = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }
}
