/// Sets of objects as ascending lists.
enum ObjectSet {
    static func ascending(_ objects: [ObjectReference]) -> [ObjectReference] {
        var result = objects
        if !zip(objects, objects.dropFirst()).allSatisfy({ $0.key < $1.key }) { result.sort() }
        var kept = 0
        for position in result.indices where position == 0 || result[position].key != result[kept - 1].key {
            result[kept] = result[position]
            kept += 1
        }
        result.removeLast(result.count - kept)
        return result
    }

    static func intersection(_ a: [ObjectReference], _ b: [ObjectReference]) -> [ObjectReference] {
        var result: [ObjectReference] = []
        var (i, j) = (0, 0)
        while i < a.count, j < b.count {
            if a[i].key == b[j].key {
                result.append(a[i])
                i += 1
                j += 1
            } else if a[i].key < b[j].key {
                i += 1
            } else {
                j += 1
            }
        }
        return result
    }
}
