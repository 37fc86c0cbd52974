// What rescue evicts and brings back leaves no trace in a recording.
#include <gtest/gtest.h>

#include "tests/tracer/feed.h"

namespace stowage::tracer::testing {
namespace {

constexpr std::uint64_t kId = 7;

/// An iteration that makes two buffers. `between`: what happens while both are alive.
template <class Between>
void iterate(Feed& feed, Between between) {
  const void* const one = feed.alloc(512);
  const void* const two = feed.alloc(1024);
  between(one);
  feed.recorder.on_free(two);
  feed.recorder.on_mark(MarkSource::kOptimizer);
}

/// As rescue evicts it.
void set_aside(Feed& feed, const void* one) {
  feed.recorder.on_set_aside(one, kId);
  feed.recorder.on_free(one);
}

/// `one` goes as rescue evicts it, and comes back at another address, made again with a workspace.
const void* evict_and_restore(Feed& feed, const void* one) {
  set_aside(feed, one);
  const Unrecorded again;
  const void* const workspace = feed.alloc(4096);
  const void* const back = feed.alloc(512);
  feed.recorder.on_free(workspace);
  feed.recorder.on_brought_back(back, kId);
  return back;
}

TEST(SetAside, ABufferLivesOnWhereItIsBroughtBack) {
  Feed feed;
  iterate(feed, [&](const void* one) { feed.recorder.on_free(one); });
  iterate(feed, [&](const void* one) {
    EXPECT_EQ(feed.recorder.live(), Bytes(1536));
    const void* const back = evict_and_restore(feed, one);
    EXPECT_EQ(feed.recorder.live(), Bytes(1536));
    feed.recorder.on_free(back);
    EXPECT_EQ(feed.recorder.live(), Bytes(1024));
  });
  EXPECT_EQ(feed.recorder.fingerprint_of_window(0), feed.recorder.fingerprint_of_window(1));
  EXPECT_TRUE(feed.recorder.steady());
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok());
  EXPECT_EQ(trace.buffers.size(), 4u);
}

TEST(SetAside, ItMayDieMeanwhile) {
  Feed feed;
  iterate(feed, [&](const void* one) {
    set_aside(feed, one);
    EXPECT_EQ(feed.recorder.live(), Bytes(1536));
    feed.recorder.on_aside_gone(kId);
    EXPECT_EQ(feed.recorder.live(), Bytes(1024));
    feed.recorder.on_aside_gone(kId);
  });
  EXPECT_EQ(feed.recorder.live(), Bytes(0));
}

TEST(SetAside, ItsAddressIsSomebodyElsesMeanwhile) {
  Feed feed;
  const void* const one = feed.alloc(512);
  set_aside(feed, one);
  feed.recorder.on_alloc(one, Bytes(2048), Bytes(2048), StreamId(0));
  EXPECT_EQ(feed.recorder.live(), Bytes(2560));
  feed.recorder.on_free(one);
  EXPECT_EQ(feed.recorder.live(), Bytes(512));
}

TEST(SetAside, WhatComesBackEarlierThanAScheduleSaysIsBornThen) {
  Feed feed;
  {
    const Unrecorded again;
    const void* const back = feed.alloc(512);
    EXPECT_EQ(feed.recorder.live(), Bytes(0));
    feed.recorder.on_brought_back(back, kId);
  }
  EXPECT_EQ(feed.recorder.live(), Bytes(512));
}

TEST(SetAside, WhereItIsMadeAgainAsAScheduleSaysThatIsANewBuffer) {
  Feed feed;
  const void* const one = feed.alloc(512);
  set_aside(feed, one);
  const void* const back = feed.alloc(512);
  EXPECT_EQ(feed.recorder.live(), Bytes(1024));
  feed.recorder.on_brought_back(back, kId);
  EXPECT_EQ(feed.recorder.live(), Bytes(512));
}

TEST(SetAside, WindowsThatAreForgottenMeanwhileKeepIt) {
  Feed feed;
  const void* const one = feed.alloc(512);
  set_aside(feed, one);
  feed.recorder.clear();
  EXPECT_EQ(feed.recorder.live(), Bytes(512));
  const Unrecorded again;
  const void* const back = feed.alloc(512);
  feed.recorder.on_brought_back(back, kId);
  feed.recorder.on_free(back);
  EXPECT_EQ(feed.recorder.live(), Bytes(0));
}

}  // namespace
}  // namespace stowage::tracer::testing
