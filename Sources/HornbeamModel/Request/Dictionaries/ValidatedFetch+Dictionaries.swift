extension ValidatedFetch {
    /// The fetch of the objects from which dictionaries are made.
    package func objects(for program: DictionaryProgram) -> ValidatedFetch { replacing { $0 = program.objects(of: $0) } }
}
