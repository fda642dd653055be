internal import Foundation

extension PropertyValue: CustomStringConvertible {
    /// The value in tables and logs: texts without quotes, dates in UTC.
    public var description: String {
        switch self {
        case .null: "nil"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): "\(value)"
        case .decimal(let value): value.description
        case .string(let value): value
        case .date(let value): value.internetText
        case .data(let value): "\(value.count) bytes"
        case .uuid(let value): value.uuidString
        case .uri(let value): value.absoluteString
        case .objectID(let value): value.description
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .set(let values): "{" + values.map(\.description).sorted().joined(separator: ", ") + "}"
        case .dictionary(let values):
            "[" + values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]"
        }
    }

    /// The value with texts in quotes, so that its type is visible; long ones are truncated to 200 characters.
    package var expandedDescription: String {
        guard case .string(let text) = self else { return description }
        let shown = text.prefix(200)
        return shown.debugDescription + (shown.endIndex < text.endIndex ? "…" : "")
    }
}

extension Date {
    /// The instant as `2026-11-20T22:58:00Z`, in UTC and the proleptic Gregorian calendar, with milliseconds if there are any.
    package var internetText: String {
        let seconds = timeIntervalSince1970
        guard seconds.isFinite, abs(seconds) < 1e13 else { return "\(seconds) s since 1970" }
        var whole = Int(seconds.rounded(.down))
        var milliseconds = Int(((seconds - Double(whole)) * 1000).rounded())
        if milliseconds == 1000 { (whole, milliseconds) = (whole + 1, 0) }
        let days = Int((Double(whole) / 86_400).rounded(.down))
        let second = whole - days * 86_400
        let (year, month, day) = civilDate(daysSince1970: days)
        let fraction = milliseconds == 0 ? "" : "." + padded(milliseconds, 3)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))\(fraction)Z"
    }
}

private func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(abs(number))
    return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
}

/// The calendar date of a day. Counts in periods of 400 years, which all have the same number of days, and in years that begin in March.
private func civilDate(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
    let days = daysSince1970 + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
}
