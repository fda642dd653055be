extension AttributeDescription: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case name, type, optional, transient, `default`, minimum, maximum, minimumLength, maximumLength, pattern
        case rules, merge, derivation, composite, transformer, valueClass, externalStorage, preservedAfterDeletion
        case cloudEncryption, spotlight, externalRecord, scalar, renamedFrom, versionHashModifier, userInfo
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(name, forKey: .name)
        try members.encode(type, forKey: .type)
        try members.encode(isOptional, forKey: .optional, unless: false)
        try members.encode(isTransient, forKey: .transient, unless: false)
        try members.encode(defaultValue, of: type, forKey: .default)
        if let minimum { try members.encode(minimum, of: type, forKey: .minimum) }
        if let maximum { try members.encode(maximum, of: type, forKey: .maximum) }
        try members.encodeIfPresent(minimumLength, forKey: .minimumLength)
        try members.encodeIfPresent(maximumLength, forKey: .maximumLength)
        try members.encodeIfPresent(pattern, forKey: .pattern)
        try members.encode(rules, forKey: .rules, unless: [])
        try members.encodeIfPresent(mergeRule, forKey: .merge)
        try members.encodeIfPresent(derivation, forKey: .derivation)
        try members.encodeIfPresent(compositeName, forKey: .composite)
        try members.encodeIfPresent(valueTransformerName, forKey: .transformer)
        try members.encodeIfPresent(valueClassName, forKey: .valueClass)
        try members.encode(allowsExternalBinaryDataStorage, forKey: .externalStorage, unless: false)
        try members.encode(preservesValueInHistoryOnDeletion, forKey: .preservedAfterDeletion, unless: false)
        try members.encode(allowsCloudEncryption, forKey: .cloudEncryption, unless: false)
        try members.encode(isIndexedBySpotlight, forKey: .spotlight, unless: false)
        try members.encode(isStoredInExternalRecord, forKey: .externalRecord, unless: false)
        try members.encode(usesScalarValueType, forKey: .scalar, unless: false)
        try members.encodeIfPresent(renamingIdentifier, forKey: .renamedFrom)
        try members.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
        try members.encodeSorted(userInfo, forKey: .userInfo)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(try members.decode(String.self, forKey: .name), try members.decode(AttributeType.self, forKey: .type))
        isOptional = try members.decode(forKey: .optional, default: false)
        isTransient = try members.decode(forKey: .transient, default: false)
        defaultValue = try members.decode(PropertyValue.self, forKey: .default, default: .null).fitting(type)
        minimum = try members.decodeIfPresent(PropertyValue.self, forKey: .minimum)?.fitting(type)
        maximum = try members.decodeIfPresent(PropertyValue.self, forKey: .maximum)?.fitting(type)
        minimumLength = try members.decodeIfPresent(Int.self, forKey: .minimumLength)
        maximumLength = try members.decodeIfPresent(Int.self, forKey: .maximumLength)
        pattern = try members.decodeIfPresent(String.self, forKey: .pattern)
        rules = try members.decode(forKey: .rules, default: [])
        mergeRule = try members.decodeIfPresent(MergeRule.self, forKey: .merge)
        derivation = try members.decodeIfPresent(String.self, forKey: .derivation)
        compositeName = try members.decodeIfPresent(String.self, forKey: .composite)
        valueTransformerName = try members.decodeIfPresent(String.self, forKey: .transformer)
        valueClassName = try members.decodeIfPresent(String.self, forKey: .valueClass)
        allowsExternalBinaryDataStorage = try members.decode(forKey: .externalStorage, default: false)
        preservesValueInHistoryOnDeletion = try members.decode(forKey: .preservedAfterDeletion, default: false)
        allowsCloudEncryption = try members.decode(forKey: .cloudEncryption, default: false)
        isIndexedBySpotlight = try members.decode(forKey: .spotlight, default: false)
        isStoredInExternalRecord = try members.decode(forKey: .externalRecord, default: false)
        usesScalarValueType = try members.decode(forKey: .scalar, default: false)
        renamingIdentifier = try members.decodeIfPresent(String.self, forKey: .renamedFrom)
        versionHashModifier = try members.decodeIfPresent(String.self, forKey: .versionHashModifier)
        userInfo = try members.decode(forKey: .userInfo, default: [:])
    }
}

extension ValidationRule: Codable {
    private enum Key: String, CodingKey, CaseIterable { case predicate, warning }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(predicate, forKey: .predicate)
        try members.encodeIfPresent(warning, forKey: .warning)
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.strictContainer(keyedBy: Key.self)
        self.init(
            try members.decode(String.self, forKey: .predicate),
            warning: try members.decodeIfPresent(String.self, forKey: .warning))
    }
}

extension KeyedEncodingContainer {
    /// Encodes a value of an attribute. A double is encoded as a plain number, because decoding converts it to the attribute's type.
    fileprivate mutating func encode(_ value: PropertyValue, of type: AttributeType, forKey key: Key) throws {
        switch value {
        case .null: break
        case .double(let number) where number.isFinite && (type == .double || type == .float):
            try encode(number, forKey: key)
        default: try encode(value, forKey: key)
        }
    }
}
