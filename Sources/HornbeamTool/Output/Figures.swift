/// Formats numbers for people.
enum Figures {
    /// 63440 → "63,440".
    static func count(_ value: some BinaryInteger) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// "1 package", "2 packages".
    static func count(_ value: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(count(value)) \(value == 1 ? singular : plural ?? singular + "s")"
    }

    /// 50060337 → "50.1 MB" (decimal units).
    static func bytes(_ value: some BinaryInteger) -> String {
        if value < 1000 { return "\(value) B" }
        var size = Double(value)
        for unit in ["kB", "MB", "GB", "TB"] {
            size /= 1000
            if size < 999.95 || unit == "TB" { return "\(decimal(size, places: 1)) \(unit)" }
        }
        return "\(value) B"
    }

    /// Three significant digits with a unit: "87 µs", "1.23 ms", "12.3 s".
    static func duration(_ value: Duration) -> String {
        let nanoseconds = max(0, value.nanoseconds)
        if nanoseconds < 1000 { return "\(Int(nanoseconds)) ns" }
        if nanoseconds < 999_500 { return scaled(nanoseconds / 1e3) + " µs" }
        if nanoseconds < 999_500_000 { return scaled(nanoseconds / 1e6) + " ms" }
        return scaled(nanoseconds / 1e9) + " s"
    }

    private static func scaled(_ value: Double) -> String {
        decimal(value, places: value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
    }

    /// The number with a fixed number of decimal places.
    static func decimal(_ value: Double, places: Int) -> String {
        var factor = 1.0
        for _ in 0..<places { factor *= 10 }
        let scaled = (value * factor).rounded()
        let whole = Int(scaled / factor)
        guard places > 0 else { return String(whole) }
        let fraction = String(Int(scaled.magnitude) % Int(factor))
        return "\(whole)." + String(repeating: "0", count: places - fraction.count) + fraction
    }
}

extension Duration {
    var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
    var inSeconds: Double { nanoseconds / 1e9 }
}
