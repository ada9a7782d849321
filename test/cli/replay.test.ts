import { afterAll, beforeAll, expect, test } from 'vitest';
import { dropReplayCommand, replayCommand } from '../../src/cli/replay.ts';
import type { Operator } from '../../src/composition/open-operator.ts';
import { type Service, startService } from '../http/support/service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** Validation fails before anything is opened, so these parts suffice. */
const theOperator = () =>
  ({ context: service.deps.context, system: service.deps.context.system }) as unknown as Operator;

test.each([
  [{ until: '2026-01-01', into: 'read_models' }, /^'read_models' is not a valid name: use replay_ and up to 40 /],
  [{ until: '2026-01-01', into: 'replay_"; drop schema vault cascade; --' }, /is not a valid name/],
  [{ until: '2026-01-01', into: "replay_'" }, /is not a valid name/],
  [{ until: '2026-01-01', into: 'replay_a\n' }, /is not a valid name/],
  [{ until: '2999-01-01', into: 'replay_x' }, /^--until must not be in the future$/],
  [{ until: 'yesterday', into: 'replay_x' }, /^--until 'yesterday' is not valid: expected an ISO 8601 time/],
  [{ until: '2026-02-31', into: 'replay_x' }, /^--until '.*' is not valid/],
  [{ until: 'leaf:-1', into: 'replay_x' }, /^--until '.*' is not valid/],
  [{ until: 'leaf:3', into: 'replay_x' }, /^leaf:<n> needs --organization: each organization has its own tree$/],
  [{ until: 'leaf:3', into: 'replay_x', organization: 'org_x' }, /^organization org_x not found/],
  [{ into: 'replay_x' }, /^--until is required$/],
])('replay %j is rejected with a sentence', async (values, sentence) => {
  await expect(replayCommand.run(theOperator(), { values, positionals: [] }, {} as never, {} as never)).rejects.toThrow(
    sentence,
  );
});

test('a replay with an invalid name is not dropped', async () => {
  const dropping = dropReplayCommand.run(
    theOperator(),
    { values: {}, positionals: ['vault'] },
    {} as never,
    {} as never,
  );
  await expect(dropping).rejects.toThrow("'vault' is not a valid name");
});
