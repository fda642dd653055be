@_exported public import HornbeamModel
