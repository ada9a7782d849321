import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import config from '../vitest.config.ts';

/** Tests and hooks have the time limit of `vitest.config.ts`. A lower one of their own fails on a busy machine. */

const TESTS = new URL('../', import.meta.url).pathname;
const { testTimeout = 0, hookTimeout = 0 } = config.test ?? {};

const LIMITS: Readonly<Record<string, number>> = { test: testTimeout, it: testTimeout };
/** A call over several lines that ends with a number: `}, 60_000);`. */
const CALL = /^( *)(test|it|(?:before|after)(?:All|Each))\b.*[^;\n]\n(?:(?!\1\}).*\n)*\1\}, ([\d_]+)\);$/gm;

/** Limits in a file that are not above the configured one. */
const lowLimits = (text: string): readonly string[] =>
  [...text.matchAll(CALL)]
    .filter(([, , name = '', ms = '']) => Number(ms.replaceAll('_', '')) <= (LIMITS[name] ?? hookTimeout))
    .map(([call]) => call.split('\n')[0] ?? '');

test('no test has a lower time limit than all others', () => {
  expect(lowLimits("test('a', () => {\n  later(() => {\n    b();\n  }, 5);\n}, 60_000);")).toHaveLength(1);
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(1_000);
  const found = files.flatMap((file) => lowLimits(readFileSync(TESTS + file, 'utf8')).map((low) => `${file}: ${low}`));
  expect(found).toEqual([]);
});
