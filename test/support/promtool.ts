import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';

/** Evaluates alerts over scrapes of real metrics, with the program `promtool` of Prometheus. */

const run = promisify(execFile);

export const hasPromtool = await run('promtool', ['--version']).then(
  () => true,
  () => false,
);

/** Longest of all `for` and ranges, with some to spare. */
const MINUTES = 90;
/** Shorter: promtool takes longer. Longer: less precise than the `for` of some alerts. */
const EVALUATION = '5m';
const SAMPLE = /^(?<name>[a-z_]+)(?<labels>\{[^}]*\})? (?<value>\S+)$/;

const samplesIn = (text: string) =>
  new Map(
    text.split('\n').flatMap((line) => {
      const { name = '', labels = '', value } = SAMPLE.exec(line)?.groups ?? {};
      return name.startsWith('outbox_') ? [[`${name}${labels}`, { name, value: Number(value) }] as const] : [];
    }),
  );

export interface Scrapes {
  readonly before: string;
  readonly after: string;
  /** Time of the last scrape, in seconds since 1970. */
  readonly nowSeconds: number;
}

/** Gauges stay as they are, counters rise in each minute as between both scrapes. Times are relative to the last minute. */
const seriesOf = ({ before, after, nowSeconds }: Scrapes) => {
  const types = new Map([...after.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]));
  const first = samplesIn(before);
  return [...samplesIn(after)].map(([series, { name, value }]) => {
    if (name.endsWith('_timestamp_seconds')) return { series, values: `${value - nowSeconds}x${MINUTES}` };
    const rise = types.get(name) === 'gauge' ? 0 : value - (first.get(series)?.value ?? 0);
    return { series, values: `${value}+${rise}x${MINUTES}` };
  });
};

/** Names the state in the output of promtool, which repeats expressions and, before version 2.54, no names. */
const expressionFor = (at: number): string => `ALERTS{alertstate="firing", alertname!="state ${at}"}`;

/**
 * Names of the alerts in a rule file that fire in each state, after ninety minutes of its scrapes. One run of promtool
 * evaluates all states, because its start takes longer than most of the evaluation.
 */
export const firingAlerts = async (
  ruleFile: string,
  states: readonly Scrapes[],
): Promise<readonly (readonly string[])[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-promtool-'));
  const file = join(folder, 'test.yml');
  const tests = states.map((scrapes, at) => ({
    interval: '1m',
    input_series: seriesOf(scrapes),
    promql_expr_test: [{ expr: expressionFor(at), eval_time: `${MINUTES}m`, exp_samples: [] }],
  }));
  await writeFile(file, stringify({ rule_files: [ruleFile], evaluation_interval: EVALUATION, tests }));
  const said = await run('promtool', ['test', 'rules', file]).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
  );
  await rm(folder, { recursive: true });
  // No alert is expected, so those that fire are the differences that promtool prints.
  const differences = said.split(/^\s*expr: /m).slice(1);
  if (!said.includes('SUCCESS') && differences.length === 0) throw new Error(said);
  return states.map((_, at) => {
    const got = differences.find((difference) => difference.includes(`state ${at}\\"`)) ?? '';
    return [...new Set([...got.matchAll(/alertname="(\w+)"/g)].map(([, name = '']) => name))].sort();
  });
};
