import { globSync } from 'node:fs';
import type { Profiler } from 'node:inspector/promises';
import { describe, expect, test } from 'vitest';
import { bytesByStage, type HeapNode, STAGES, sharesOf, stageOfStatement } from '../../bench/harness/stages.ts';

const frame = (functionName: string, url = '') => ({
  functionName,
  url,
  scriptId: '0',
  lineNumber: 0,
  columnNumber: 0,
});

/** A profile in which each frame of a stack calls the next one, and the root calls the first. */
const profileOf = (
  stacks: readonly (readonly ReturnType<typeof frame>[])[],
  micros: readonly number[],
): Profiler.Profile => {
  const nodes: Profiler.ProfileNode[] = [{ id: 1, callFrame: frame('(root)'), children: [] }];
  const samples: number[] = [];
  for (const stack of stacks) {
    let parent = nodes[0];
    for (const callFrame of stack) {
      const node: Profiler.ProfileNode = { id: nodes.length + 1, callFrame, children: [] };
      nodes.push(node);
      parent?.children?.push(node.id);
      parent = node;
    }
    samples.push(parent?.id ?? 1);
  }
  return { nodes, startTime: 0, endTime: 0, samples, timeDeltas: [...micros] };
};

const endpoint = frame('answer', 'file:///outbox/src/http/endpoint.ts');
const checker = frame('check', 'file:///outbox/src/lib/html/html-checker.ts');
const codec = frame('encode', 'file:///outbox/src/domain/kernel/codec.ts');
const shared = frame('canonicalJson', 'file:///outbox/src/lib/transparency/canonical-json.ts');
const parser = frame('parserOnHeadersComplete', 'node:_http_common');

describe('the stages of a profile', () => {
  test('name only parts of the service that exist', () => {
    const root = new URL('../../', import.meta.url).pathname;
    const files = globSync('src/**/*.ts', { cwd: root }).map((file) => `/${file}`);
    const own = STAGES.map(([path]) => path).filter((path) => path.startsWith('/src/'));
    expect(own.filter((path) => !files.some((file) => file.startsWith(path)))).toEqual([]);
    expect(own.length).toBeGreaterThan(20);
  });

  test('assign a sample to the innermost frame that has a stage', () => {
    const profile = profileOf([[endpoint], [endpoint, checker], [endpoint, checker]], [100, 200, 100]);
    expect(sharesOf(profile)).toEqual({ html: 0.75, schema: 0.25 });
  });

  test('assign shared code to its caller', () => {
    const native = frame('hash');
    expect(
      sharesOf(
        profileOf(
          [
            [codec, shared],
            [codec, shared, native],
          ],
          [100, 100],
        ),
      ),
    ).toEqual({
      'encode and decode': 1,
    });
  });

  test('do not count the profiler itself', () => {
    const start = frame('start', 'file:///outbox/bench/harness/profile-on-signal.ts');
    expect(sharesOf(profileOf([[start, frame('post', 'node:inspector')], [checker]], [900, 100]))).toEqual({ html: 1 });
  });

  test('do not count idle time, and give the work of Node a stage of its own', () => {
    const profile = profileOf(
      [[frame('(idle)')], [parser], [frame('(garbage collector)')], [frame('unknown')]],
      [700, 100, 50, 50],
    );
    expect(sharesOf(profile)).toEqual({
      'node: sockets and HTTP': 0.5,
      'garbage collector': 0.25,
      'everything else': 0.25,
    });
  });

  test('sum what was allocated, shared and native code with its caller', () => {
    const node = (callFrame: ReturnType<typeof frame>, selfSize: number, ...children: HeapNode[]): HeapNode => ({
      callFrame,
      selfSize,
      children,
    });
    const head = node(
      frame('(root)'),
      0,
      node(codec, 10, node(shared, 20, node(frame('toString'), 30))),
      node(checker, 5),
    );
    expect(bytesByStage(head)).toEqual({ 'encode and decode': 60, html: 5, 'everything else': 0 });
  });

  test('include each read model by name', () => {
    const applied = frame('apply', 'file:///outbox/src/projections/messages/projection.ts');
    expect(sharesOf(profileOf([[applied]], [100]))).toEqual({ 'read models: messages': 1 });
  });
});

test.each([
  ['select * from event_log.append($1)', 'log'],
  ['copy customer_event_messages (message_id, domain_id) from stdin', 'read models: events'],
  ['copy messages (message_id) from stdin', 'read models: messages'],
  ['update checkpoints set position = $3', 'read models: checkpoints'],
  ['create database bench_1', 'setup'],
  ['select $1', 'everything else'],
])('assign %s to %s', (statement, stage) => {
  expect(stageOfStatement(statement)).toBe(stage);
});
