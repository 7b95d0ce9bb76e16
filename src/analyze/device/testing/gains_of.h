// For tests: the gains of a study as analyze_device() asks for them. Not part of the product.
#pragma once

#include "analyze/device/accounts.h"
#include "analyze/device/gains.h"
#include "analyze/device/study.h"

namespace hone::analyze::device {

inline Gains gains_of(const Study& study) { return Gains(study, make_accounts(study, study.headline)); }

}  // namespace hone::analyze::device
