#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "fuzz_folder.hpp"

namespace pptrain {

/// The byte that values in another file consist of: whoever reads one of these has followed a link
/// out of the file it was given.
constexpr unsigned char outside_byte = 0xa5;

/// Changes an HDF5 file as its input says: types, shapes, links, layouts, chunks, filters and
/// attributes by HDF5 itself, then single bytes and its length.
class StrangeHdf5 {
 public:
  /// `objects` and `attributes` are the names that readers ask for; `folder` gets the other files
  /// that links lead to.
  StrangeHdf5(const FuzzFolder& folder, std::vector<std::string> objects,
              std::vector<std::string> attributes);

  /// `latest`: written in HDF5's newest format.
  void change(const std::string& path, FuzzedDataProvider& input, bool latest) const;

 private:
  void change_object(hid_t file, FuzzedDataProvider& input) const;
  void put_dataset(hid_t file, const std::string& name, FuzzedDataProvider& input) const;
  void put_attribute(hid_t file, const std::string& name, FuzzedDataProvider& input) const;
  void put_link(hid_t file, const std::string& name, FuzzedDataProvider& input) const;
  bool set_place(hid_t properties, hid_t space, FuzzedDataProvider& input) const;

  std::vector<std::string> objects_;
  std::vector<std::string> attributes_;
  std::string other_file_;
  std::string raw_file_;
};

}  // namespace pptrain
