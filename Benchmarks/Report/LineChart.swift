import Foundation

/// Cost against size for one step, both on logarithmic scales; one line for each contestant, written as SVG.
struct LineChart {
    let results: Results

    private enum Size { static let width = 300, height = 220, left = 52, top = 34, right = 16, bottom = 30 }

    /// The charts of all steps side by side; nil if fewer than two sizes were measured.
    var svg: String? {
        let plots = SizeSuite.Step.allCases.compactMap(plot)
        guard !plots.isEmpty else { return nil }
        var body = ""
        for (n, plot) in plots.enumerated() {
            body += "<g transform=\"translate(\(n % 3 * Size.width),\(40 + n / 3 * Size.height))\">\(plot)</g>\n"
        }
        let rows = (plots.count + 2) / 3
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(3 * Size.width)" height="\(40 + rows * Size.height)" \
            font-family="sans-serif" font-size="10">
            <rect width="100%" height="100%" fill="#ffffff"/>
            <text x="16" y="24" font-size="15" font-weight="bold">Cost by number of rows</text>
            \(body)</svg>

            """
    }

    private func plot(_ step: SizeSuite.Step) -> String? {
        let lines = Contestant.allCases.map { who in (who, points(step, who)) }.filter { $0.1.count > 1 }
        let all = lines.flatMap(\.1)
        guard let least = all.map(\.cost).min(), let most = all.map(\.cost).max(), let first = all.map(\.size).min(),
            let last = all.map(\.size).max(), first < last, least > 0
        else { return nil }
        let (low, high) = (log10(least / 1.5), log10(most * 1.5))
        func x(_ size: Double) -> Int {
            Size.left + Int((log10(size) - log10(first)) / (log10(last) - log10(first)) * Double(Size.width - Size.left - Size.right))
        }
        func y(_ cost: Double) -> Int {
            Size.top + Int((high - log10(cost)) / (high - low) * Double(Size.height - Size.top - Size.bottom))
        }
        var text = "<text x=\"\(Size.left)\" y=\"16\" font-size=\"11\">\(step.title.escaped), \(step.unit)</text>"
        text += "<line x1=\"\(Size.left)\" y1=\"\(y(most * 1.5))\" x2=\"\(Size.left)\" y2=\"\(y(least / 1.5))\" stroke=\"#999\"/>"
        for cost in [least, most] { text += "<text x=\"\(Size.left - 4)\" y=\"\(y(cost) + 3)\" text-anchor=\"end\">\(cost.short)</text>" }
        for size in Set(all.map(\.size)).sorted() {
            text += "<text x=\"\(x(size))\" y=\"\(Size.height - 14)\" text-anchor=\"middle\">\(SizeSuite.name(Int(size)))</text>"
        }
        for (who, points) in lines {
            let path = points.map { "\(x($0.size)),\(y($0.cost))" }.joined(separator: " ")
            text += "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(who.colour)\" stroke-width=\"2\"/>"
            text += "<text x=\"\(x(points[0].size) + 4)\" y=\"\(y(points[0].cost) - 4)\" fill=\"\(who.colour)\">\(who.rawValue)</text>"
        }
        return text
    }

    private func points(_ step: SizeSuite.Step, _ who: Contestant) -> [(size: Double, cost: Double)] {
        SizeSuite.sizes.compactMap { size in
            results.median(SizeSuite.id(step, SizeSuite.name(size)), who).map { (Double(size), $0) }
        }
    }
}
