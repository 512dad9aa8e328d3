#pragma once

namespace pptrain {

/// How often a handler is called: for each signal that comes, or for the first, after which the
/// signal does again what it does by itself.
enum class Handle { every, first };

/// Calls `handler` when the signal comes, on a stack of its own: oneDNN computes some products with
/// the stack pointer in the heap, where a handler on that stack would destroy data (oneDNN issue
/// 4845, mended there in 2026). System calls go on after it. Call on the main thread, which the
/// kernel prefers for what is sent to the process.
void catch_signal(int number, void (*handler)(int), Handle times = Handle::every);

/// For a thread beside the main one: signals are for that, whose handlers have a stack of their
/// own.
void block_signals();

}  // namespace pptrain
