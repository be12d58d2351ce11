"""The host's sources, as data of the package.

With this file an editable installation needs no finder of namespace packages. That finder puts a relative name on
`sys.path`, and so the caller's working folder.
"""
