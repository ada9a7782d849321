import { ERROR_CATALOGUE, type ErrorCode } from '../../../src/domain/kernel/errors.ts';
import { errorsOf, isCompat, ruleOf } from '../../../src/http/endpoint.ts';
import { ERROR_STATUSES } from '../../../src/http/errors.ts';
import { isRouteName, ROUTES } from '../../../src/http/route-table.ts';

const HEAD = `# Errors

Made from \`src/domain/kernel/errors.ts\`, \`src/http/errors.ts\` and \`src/http/route-table.ts\`; a test says
when it is stale and how to make it anew.

[Responses](responses.md#errors) shows the shape of an error and says when to retry. Decide by the status and \`code\`:
\`message\` is for people and may be reworded.`;

/** Spec §7, client handling rules. */
const TRANSIENT = new Set([429, 500, 502, 503, 504]);

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object
/** Clients of other services get these errors in the formats of those services. */
const routes = Object.keys(ROUTES)
  .filter(isRouteName)
  .filter((name) => !isCompat(name));
const guarded = routes.filter((name) => ruleOf(name).permission !== null);

const whetherToRetry = (code: ErrorCode): string => {
  if (code === 'resource_conflict') return 'after reading the resource again';
  return TRANSIENT.has(ERROR_STATUSES[code]) ? 'yes, with back-off' : 'no';
};

/** Lists every route that can answer with the code, or summarises them if the list would name them all. */
const whereItOccurs = (code: ErrorCode): string => {
  const names = routes.filter((name) => errorsOf(ruleOf(name)).includes(code));
  if (guarded.every((name) => names.includes(name))) return 'everywhere under `/v1`';
  if (code === 'method_not_allowed') return 'any path, with a method it does not take';
  const list = names.map((name) => `\`${name}\``).join(', ');
  return code === 'not_found' ? `any path that does not exist; ${list}` : list;
};

const section = (code: ErrorCode): string => {
  const { meaning, remedy } = ERROR_CATALOGUE[code];
  return [
    `### \`${code}\``,
    '',
    `${meaning} ${remedy}`,
    '',
    `- Status: ${ERROR_STATUSES[code]}`,
    `- Retry: ${whetherToRetry(code)}`,
    `- Where: ${whereItOccurs(code)}`,
  ].join('\n');
};

const row = (code: ErrorCode): string =>
  `| ${ERROR_STATUSES[code]} | [\`${code}\`](#${code}) | ${ERROR_CATALOGUE[code].meaning} | ${whetherToRetry(code)} |`;

/** `docs/errors.md`: every code by status, with its meaning, the remedy, whether to retry, and where it occurs. */
export const errorsDocument = (): string => {
  const sorted = codes.toSorted(
    (left, right) => ERROR_STATUSES[left] - ERROR_STATUSES[right] || (left < right ? -1 : 1),
  );
  const table = ['| status | code | meaning | retry |', '|---|---|---|---|', ...sorted.map(row)].join('\n');
  return `${[HEAD, table, ...sorted.map(section)].join('\n\n')}\n`;
};
