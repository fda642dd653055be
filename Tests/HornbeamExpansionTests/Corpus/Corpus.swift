/// Members of a class as people write them, and what the scanner must find in each: properties as `describe` prints them, nothing for
/// other members.
enum Corpus {
    typealias Member = (source: String, expected: [String])

    static let members: [Member] = part1 + part2 + part3 + part4 + part5 + part6
}
