import { expect, test } from 'vitest';
import { createFairQueue } from '../../../src/lib/async/semaphore.ts';

const filled = (...items: readonly string[]) => {
  const queue = createFairQueue<string>();
  for (const item of items) queue.push(item.charAt(0), item);
  return queue;
};

const drained = (queue: ReturnType<typeof filled>): readonly string[] => {
  const items: string[] = [];
  while (queue.size > 0) {
    const next = queue.peek();
    expect(queue.shift()).toBe(next);
    items.push(String(next));
  }
  expect([queue.shift(), queue.peek()]).toEqual([undefined, undefined]);
  return items;
};

test('owners are served in turn, each in its own order', () => {
  expect(drained(filled('a1', 'a2', 'a3', 'b1', 'c1', 'c2'))).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});

test('an owner that was served is behind owners that come later', () => {
  const queue = filled('a1', 'a2', 'a3');
  expect(queue.shift()).toBe('a1');
  queue.push('b', 'b1');
  expect(drained(queue)).toEqual(['a2', 'b1', 'a3']);
});

test('the last item of the longest queue is dropped', () => {
  const queue = filled('a1', 'a2', 'b1', 'b2', 'b3', 'c1');
  expect([queue.dropOfLongest(), queue.size]).toEqual(['b3', 5]);
  expect(drained(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2']);
  expect(queue.dropOfLongest()).toBeUndefined();
});

test('removed items are not served', () => {
  const queue = filled('a1', 'a2', 'b1');
  queue.remove('a', 'a1');
  queue.remove('b', 'b1');
  queue.remove('b', 'b1');
  expect(drained(queue)).toEqual(['a2']);
});

test('owners whose next item cannot start are skipped, and keep their turn', () => {
  const queue = filled('a1', 'b1', 'c1');
  const canGo = (item: string): boolean => item !== 'a1';
  expect([queue.peek(canGo), queue.shift(canGo)]).toEqual(['b1', 'b1']);
  expect(queue.shift(() => false)).toBeUndefined();
  expect(drained(queue)).toEqual(['a1', 'c1']);
});
