internal import HornbeamEngine

extension Catalogue {
    /// The tables of all concrete entities.
    var tables: [(name: String, layout: ColumnLayout)] {
        entities.filter { !$0.isAbstract }.map { ($0.tree, layout(of: $0.name)) }
    }

    var indexTrees: [String] {
        relationships.flatMap(\.treeNames) + indexes.map(\.tree)
    }
}

extension Catalogue.StoredIndex {
    var tree: String { TreeName.index(number, isUnique: name == nil) }
}

extension Catalogue.StoredEntity {
    var tree: String { TreeName.rows(table ?? number) }
}

extension Catalogue.StoredRelationship {
    var membersTree: String { TreeName.members(trees ?? number) }
    /// Nil for a relationship without an order.
    var orderTree: String? { isOrdered ? TreeName.order(trees ?? number) : nil }
    /// Nil for a relationship with an inverse.
    var ownersTree: String? { kind == .oneWay ? TreeName.owners(trees ?? number) : nil }

    var treeNames: [String] { [membersTree] + [orderTree, ownersTree].compactMap(\.self) }
}
