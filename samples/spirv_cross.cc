// SPIRV-Cross, of its source package, writing the package's own shaders as GLSL, as ESSL and as HLSL: a compiler's back end.
#include <spirv_glsl.hpp>
#include <spirv_hlsl.hpp>

#include <string>

#include "freestanding/out.h"

struct Shader {
    const uint32_t *words;
    size_t count;
};

#include <shaders.h>

namespace {

constexpr size_t SHADERS = sizeof shaders / sizeof *shaders;

struct Language {
    const char *name;
    std::string (*write)(const Shader &shader);
    bool knows[SHADERS]; // those of which the first round wrote something
};

std::string write_glsl(const Shader &shader, uint32_t version, bool es)
{
    spirv_cross::CompilerGLSL compiler(shader.words, shader.count);
    spirv_cross::CompilerGLSL::Options options;
    options.version = version;
    options.es = es;
    compiler.set_common_options(options);
    return compiler.compile();
}

std::string write_desktop(const Shader &shader)
{
    return write_glsl(shader, 450, false);
}

std::string write_es(const Shader &shader)
{
    return write_glsl(shader, 310, true);
}

std::string write_hlsl(const Shader &shader)
{
    spirv_cross::CompilerHLSL compiler(shader.words, shader.count);
    spirv_cross::CompilerHLSL::Options options;
    options.shader_model = 50;
    compiler.set_hlsl_options(options);
    return compiler.compile();
}

// Returns the text of a shader, "" when the language has no way to say what it does.
std::string written(const Language &language, const Shader &shader)
{
    try {
        return language.write(shader);
    } catch (const spirv_cross::CompilerError &) {
        return "";
    }
}

} // namespace

int main(int argc, char **argv)
{
    static Language languages[] = {{"glsl", write_desktop, {}}, {"essl", write_es, {}}, {"hlsl", write_hlsl, {}}};
    uint32_t rounds = sample_begin(argc, argv, 1), hash = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (Language &language : languages) {
            uint32_t bytes = 0, count = 0;
            for (size_t i = 0; i < SHADERS; i++) {
                if (round && !language.knows[i])
                    continue;
                std::string text = written(language, shaders[i]);
                language.knows[i] = !text.empty();
                count += language.knows[i];
                bytes += static_cast<uint32_t>(text.size());
                for (char c : text)
                    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
            }
            if (round == 0) {
                out_string(language.name);
                out_line_decimal(" shaders", static_cast<int32_t>(count));
                out_line_decimal("bytes", static_cast<int32_t>(bytes));
            }
        }
    }
    return sample_end(hash);
}
