#pragma once

/// The files of src/report/page and the library they draw with, put in here by the build.
namespace pptrain::page_files {

extern const char* const page_html;
extern const char* const page_css;
extern const char* const charts_js;
extern const char* const sections_js;
extern const char* const plan_js;
extern const char* const pipeline_js;
extern const char* const page_js;
extern const char* const sweep_js;
extern const char* const d3_js;  ///< "" where the build did not find it: the page then has tables
                                 ///< alone

}  // namespace pptrain::page_files
