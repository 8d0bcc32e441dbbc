"""placeholder until the help table lands"""
def check_help(release, table): return ""
