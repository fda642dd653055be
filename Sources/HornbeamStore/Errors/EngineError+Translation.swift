internal import HornbeamEngine
internal import HornbeamModel

extension EngineError {
    /// Runs code of the engine and translates its errors into `HornbeamError`.
    @inline(__always)
    static func translated<R>(_ body: () throws(EngineError) -> R) throws -> R {
        do {
            return try body()
        } catch {
            throw HornbeamError(error)
        }
    }
}

/// Translates an engine error. `unknownTree` becomes `damaged`, `schemaChanged` becomes `modelMismatch`; other codes have the same name. The message
/// ends with the path of the file.
extension HornbeamError {
    init(_ error: EngineError) {
        let place = error.path.map { " [\($0)]" } ?? ""
        self.init(Code(error.code), error.message + place, cause: error.errno == 0 ? nil : "system error \(error.errno)")
    }
}

extension HornbeamError.Code {
    init(_ code: EngineError.Code) {
        switch code {
        case .notAStore: self = .notAStore
        case .newerFormat: self = .newerFormat
        case .storeInUse: self = .storeInUse
        case .busy: self = .busy
        case .damaged, .unknownTree: self = .damaged
        case .logDamaged: self = .logDamaged
        case .full: self = .full
        case .readOnly: self = .readOnly
        case .inputOutput: self = .inputOutput
        case .durabilityLost: self = .durabilityLost
        case .closed: self = .closed
        case .snapshotExpired: self = .snapshotExpired
        case .tooLarge: self = .tooLarge
        case .cancelled: self = .cancelled
        case .schemaChanged: self = .modelMismatch
        }
    }
}
