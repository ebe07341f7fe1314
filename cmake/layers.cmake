# One static library a layer. Files are found by pattern so that adding a kernel, a model or an op is
# adding a file; -march flags follow from a file's suffix, nowhere else.

add_library(moxie_options INTERFACE)
target_include_directories(moxie_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(moxie_options INTERFACE -Wall -Wextra -Werror -fno-math-errno
  # x86-64 baseline contracts nothing; kernels ask for FMA by name, so results do not depend on flags.
  -ffp-contract=off)
if(MOXIE_SANITIZE)
  target_compile_options(moxie_options INTERFACE -fsanitize=${MOXIE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(moxie_options INTERFACE -fsanitize=${MOXIE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees uninitialised members in what it has instrumented, such as an empty std::optional.
    target_compile_options(moxie_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

set(MOXIE_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(MOXIE_AVX512_FLAGS ${MOXIE_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
set(MOXIE_AVX512BF16_FLAGS ${MOXIE_AVX512_FLAGS} -mavx512bf16 -mavx512vnni)

# moxie_layer(NAME [DIR dir] [DEPENDS targets...]): src/<dir>/*.cc -> library moxie_<NAME>
function(moxie_layer name)
  cmake_parse_arguments(ARG "" "DIR" "DEPENDS" ${ARGN})
  if(NOT ARG_DIR)
    set(ARG_DIR ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ARG_DIR}/*.cc)
  set(target moxie_${name})
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE moxie_options ${ARG_DEPENDS})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC moxie_options ${ARG_DEPENDS})
  foreach(source ${sources})
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${MOXIE_AVX2_FLAGS}")
    elseif(source MATCHES "_avx512bf16\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${MOXIE_AVX512BF16_FLAGS}")
    elseif(source MATCHES "_avx512\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${MOXIE_AVX512_FLAGS}")
    endif()
  endforeach()
endfunction()
