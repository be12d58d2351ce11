"""`python -m mipsrec.stencils`: make the tables anew, for the package to carry."""

from pathlib import Path

from . import SHIPPED, TABLES, make_tables

folder = Path(__file__).parent.parent / SHIPPED
folder.mkdir(exist_ok=True)
(folder / TABLES).write_text(make_tables())
print(folder / TABLES)
