// The colours of the charts, judged as eyes with and without all three kinds of cones see them.
#include "report/html/fills.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "analyze/cause.h"
#include "report/html/palette.h"
#include "report/html/parts.h"
#include "report/svg/chart.h"
#include "trace/operator_class.h"

namespace hone::report::html {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector operator*(const Matrix& m, const Vector& v) {
  Vector result{};
  for (std::size_t i = 0; i < 3; ++i) result[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return result;
}

// "#rrggbb" in proportion to light (IEC 61966-2-1).
Vector linear(std::string_view colour) {
  Vector rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = std::stoi(std::string(colour.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    rgb[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

struct Vision {
  std::string_view name;
  Matrix seen;   // of linear RGB
  double apart;  // what two colours must be at least; a difference of 0.02 is just noticed
};

// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
// IEEE TVCG 15(6), 2009: severity 1. One in twelve men lacks or mistunes the red or green cones, one in ten
// thousand people the blue ones.
constexpr std::array kVisions = {
    Vision{"all cones", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, 0.06},
    Vision{
        "no red cones",
        {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
        0.05},
    Vision{
        "no green cones",
        {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
        0.05},
    Vision{
        "no blue cones",
        {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
        0.03},
};

// Ottosson, "A perceptual color space for image processing", 2020: distances in it are even to the eye.
Vector oklab(const Vector& rgb) {
  constexpr Matrix kCones = {{{0.4122214708, 0.5363325363, 0.0514459929},
                              {0.2119034982, 0.6806995451, 0.1073969566},
                              {0.0883024619, 0.2817188376, 0.6299787005}}};
  constexpr Matrix kLab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                            {1.9779984951, -2.4285922050, 0.4505937099},
                            {0.0259040371, 0.7827717662, -0.8086757660}}};
  Vector cones = kCones * rgb;
  for (double& cone : cones) cone = std::cbrt(cone);
  return kLab * cones;
}

double distance(std::string_view a, std::string_view b, const Vision& vision) {
  const auto seen = [&](std::string_view colour) {
    Vector rgb = vision.seen * linear(colour);
    for (double& value : rgb) value = std::clamp(value, 0.0, 1.0);
    return oklab(rgb);
  };
  const Vector x = seen(a), y = seen(b);
  return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

// WCAG 2.2, "contrast ratio".
double contrast(std::string_view a, std::string_view b) {
  const auto luminance = [](std::string_view colour) {
    const Vector rgb = linear(colour);
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
  };
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

// The rows of the table that fill what is drawn with this class of the style sheet.
int rows_of(std::string_view css) {
  const std::string whole = "." + std::string(css) + ",";
  return static_cast<int>(std::count_if(fills().begin(), fills().end(), [&](const Fill& fill) {
    return (std::string(fill.of) + ",").find(whole) != std::string::npos;
  }));
}

TEST(Fills, GiveOneColourToEveryClassCauseAndKind) {
  for (int i = 0; i < trace::kOperatorClassCount; ++i) {
    const std::string css = svg::operator_class_css(static_cast<trace::OperatorClass>(i));
    EXPECT_EQ(rows_of(css), 1) << css;
  }
  for (const analyze::Cause cause : analyze::all_causes())
    EXPECT_EQ(rows_of(svg::cause_class(cause)), 1) << svg::cause_class(cause);
  for (const char* kind : {"synchronization", "communication", "allocation", "input", "io"})
    EXPECT_EQ(rows_of(svg::kind_css(kind)), 1) << kind;
}

TEST(Fills, HaveOneMeaning) {
  for (const Fill& fill : fills()) {
    const bool of_cause = fill.of.find(".cause-") != std::string_view::npos;
    const bool of_class = fill.of.find(".class-") != std::string_view::npos;
    EXPECT_FALSE(of_cause && of_class) << fill.of;
  }
}

TEST(Fills, StayApartWhateverConesTheEyeHas) {
  for (const Vision& vision : kVisions)
    for (std::size_t i = 0; i < fills().size(); ++i)
      for (std::size_t k = i + 1; k < fills().size(); ++k) {
        const Fill &a = fills()[i], &b = fills()[k];
        EXPECT_GE(distance(a.light, b.light, vision), vision.apart)
            << a.of << " and " << b.of << " on light, " << vision.name;
        EXPECT_GE(distance(a.dark, b.dark, vision), vision.apart)
            << a.of << " and " << b.of << " on dark, " << vision.name;
      }
}

// WCAG 2.2, success criterion 1.4.11.
TEST(Fills, StandOutFromTheirGround) {
  constexpr double kLeast = 3;
  const auto card =
      std::find_if(tones().begin(), tones().end(), [](const Tone& tone) { return tone.name == "card"; });
  ASSERT_NE(card, tones().end());
  for (const Fill& fill : fills()) {
    EXPECT_GE(contrast(fill.light, card->light), kLeast) << fill.of;
    EXPECT_GE(contrast(fill.dark, card->dark), kLeast) << fill.of;
  }
}

// WCAG 2.2, success criterion 1.4.3: text of any size, on whatever it stands.
TEST(Tones, AreLegibleOnEveryGround) {
  constexpr double kLeast = 4.5;
  for (const Tone& text : tones())
    for (const Tone& ground : tones()) {
      if (text.use != Tone::Use::kText || ground.use != Tone::Use::kGround) continue;
      EXPECT_GE(contrast(text.light, ground.light), kLeast) << text.name << " on light " << ground.name;
      EXPECT_GE(contrast(text.dark, ground.dark), kLeast) << text.name << " on dark " << ground.name;
    }
}

// A colour written into a rule, or one of a line, would escape the test above.
TEST(Tones, AreTheOnlyColoursOfText) {
  const std::string sheet = style();
  for (const std::string_view property : {";color:", "{color:", "{fill:", ";fill:"})
    for (std::size_t at = sheet.find(property); at != std::string::npos; at = sheet.find(property, at + 1)) {
      const std::size_t start = at + property.size();
      const std::string value = sheet.substr(start, sheet.find_first_of(";}", start) - start);
      if (value == "inherit" || value == "none" || value.starts_with("color-mix") || value == "var(--c)")
        continue;
      const auto tone = std::find_if(tones().begin(), tones().end(), [&](const Tone& one) {
        return value == "var(--" + std::string(one.name) + ")";
      });
      ASSERT_NE(tone, tones().end()) << property << value;
      EXPECT_TRUE(tone->use != Tone::Use::kLine || property.find("fill") != std::string_view::npos)
          << value << " is the colour of a text";
    }
}

TEST(Style, HasTheFillsOfBothThemes) {
  const std::string sheet = style();
  const std::size_t light = sheet.find(".cause-launch{--c:"),
                    dark = sheet.find(".cause-launch{--c:", light + 1);
  ASSERT_NE(dark, std::string::npos);
  EXPECT_NE(sheet.substr(light, 26), sheet.substr(dark, 26));
}

}  // namespace
}  // namespace hone::report::html
