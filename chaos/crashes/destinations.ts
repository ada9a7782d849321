import { setTimeout as sleep } from 'node:timers/promises';
import { askIn, untilAnswered } from '../harness/asking.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { World, WorldOptions } from '../harness/world.ts';
import { inWorld } from './in-world.ts';

/** Mail goes directly to the recipients' server, which is the sink. */
const DIRECT: WorldOptions = {
  env: ({ mailUrl }) => ({
    MAIL_URL: 'direct:',
    ALLOW_PRIVATE_MX: 'true',
    EHLO_NAME: 'sender.example',
    OUTBOX_TEST_MX_PORT: new URL(mailUrl).port,
  }),
};

/** Exceeds the concurrency of a destination, so that some messages wait when it turns out to be down. */
const MESSAGES = 8;
/** Spans several sweeps. */
const QUIET_MS = 3000;
/** Adds the minute that a deferred recipient waits. */
const REST_MS = 150_000;

const isSuspended = ({ text }: { readonly text: string }): boolean => JSON.parse(text).data.length > 0;

/** Dies during the first attempt at a server that is down. */
const dieOfSilence = async (world: World, point: FailPointName): Promise<void> => {
  const { programs, sink, dns, load } = world;
  dns.change({ 'example.net': { MX: [[10, 'mx.example.net']] }, 'mx.example.net': { A: ['127.0.0.1'] } });
  const back = sink.whenever({ command: 'CONNECT', when: 'arrived' }, () => 'hang up');
  await programs.startToDie({ OUTBOX_FAIL_POINT: point });
  await load.singles(MESSAGES);
  await programs.died();
  back();
  await programs.start();
};

const forgotten: Scenario = {
  name: 'killed before-append-suspension by a server that is away',
  run: () => inWorld(DIRECT, (world) => dieOfSilence(world, 'before-append-suspension'), { restMs: REST_MS }),
};

/** A process must know what the previous one learned about a destination. */
const remembered: Scenario = {
  name: 'killed after-append-suspension by a server that is away',
  run: () =>
    inWorld(
      DIRECT,
      async (world) => {
        await dieOfSilence(world, 'after-append-suspension');
        const ask = askIn(world);
        await untilAnswered(ask, { path: '/v1/destinations' }, isSuspended);
        await sleep(QUIET_MS);
        if (world.sink.mails.length > 0) throw new Error('mail left for a destination that is suspended');
        const body = { destination: 'example.net' };
        await untilAnswered(ask, { path: '/v1/destinations/release', body }, ({ status }) => status === 200);
      },
      {
        restMs: REST_MS,
        more: ({ events }) => {
          const found = events.filter(({ type }) => type === 'DestinationSuspended').length;
          return found === 1 ? [] : [{ promise: 'scenario', what: `it was suspended ${found} times` }];
        },
      },
    ),
};

export const DESTINATION_CRASHES: readonly Scenario[] = [forgotten, remembered];
