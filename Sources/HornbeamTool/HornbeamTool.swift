@main struct HornbeamTool { static func main() {} }
