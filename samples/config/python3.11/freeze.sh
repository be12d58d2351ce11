# Configures Python in its folder, and writes what an interpreter without a file system needs, as C: the modules that
# it freezes by itself, and in frozen_modules.h those that the sample imports.
set -e
modules="encodings encodings.aliases encodings.utf_8 re re._casefix re._compiler re._constants re._parser enum types
    functools collections collections.abc keyword operator reprlib copyreg heapq bisect struct string json json.decoder
    json.encoder json.scanner"
freeze="python3.11 Programs/_freeze_module.py"
sh configure --without-ensurepip --disable-test-modules
# As where Python is built for another machine: the Python that is here freezes, instead of one that is built first.
make PYTHON_FOR_FREEZE=python3.11 FREEZE_MODULE="$freeze" FREEZE_MODULE_DEPS=Programs/_freeze_module.py \
    FREEZE_MODULE_BOOTSTRAP="$freeze" FREEZE_MODULE_BOOTSTRAP_DEPS=Programs/_freeze_module.py \
    Python/frozen_modules/getpath.h Python/deepfreeze/deepfreeze.c
table=
for module in $modules; do
    file=Lib/$(echo "$module" | tr . /)
    variable=_Py_M__$(echo "$module" | tr . _)
    package=0
    if [ -d "$file" ]; then
        file=$file/__init__
        package=1
    fi
    $freeze "$module" "$file.py" "Python/frozen_modules/$module.h"
    echo "#include \"Python/frozen_modules/$module.h\""
    table="$table    {\"$module\", $variable, sizeof $variable, $package, NULL},
"
done > frozen_modules.h
printf 'static const struct _frozen frozen_modules[] = {\n%s    {NULL, NULL, 0, 0, NULL},\n};\n' "$table" >> frozen_modules.h
