# Which folder of src/ stands on which package.
hone_link(core    fmt::fmt)
hone_link(trace   nlohmann_json::nlohmann_json simdjson::simdjson ZLIB::ZLIB PkgConfig::ZSTD SQLite::SQLite3 Threads::Threads)
hone_link(report  nlohmann_json::nlohmann_json)
hone_link(kernels DNNL::dnnl PkgConfig::HWY $<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_CXX>)
hone_link(runtime Threads::Threads $<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_CXX>)
hone_link(lab     nlohmann_json::nlohmann_json)
set(HONE_APP_PACKAGES CLI11::CLI11 nlohmann_json::nlohmann_json)
