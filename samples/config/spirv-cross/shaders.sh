# Compiles the package's shaders to SPIR-V, in its folder: words/NUMBER.h has the words of one, shaders.h the list of all.
LC_ALL=C
export LC_ALL
mkdir words
number=0
for shader in shaders/comp/* shaders/frag/* shaders/geom/* shaders/tesc/* shaders/tese/* shaders/vert/*; do
    # Some are of extensions that this compiler does not know.
    glslangValidator -V --amb --target-env vulkan1.1 --vn "words_$number" -o words/new.h "$shader" > /dev/null || continue
    mv words/new.h "words/$number.h"
    echo "#include \"words/$number.h\""
    number=$((number + 1))
done > shaders.h
test $number -gt 0 || exit 1
{
    echo "static const Shader shaders[] = {"
    for word in $(seq 0 $((number - 1))); do
        echo "    {words_$word, sizeof words_$word / 4},"
    done
    echo "};"
} >> shaders.h
