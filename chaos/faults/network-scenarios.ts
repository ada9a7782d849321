import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy.ts';
import type { Scenario } from '../harness/scenario.ts';
import { createRandom } from '../simulation/random.ts';
import { DEPENDENCIES, type Dependency } from './dependencies.ts';
import { loadWhile } from './load-while.ts';
import { NETWORK_FAULTS, type NetworkFault } from './network-faults.ts';
import { play } from './stage.ts';

const scenario = (dependency: Dependency, fault: NetworkFault): Scenario => {
  const { name, bearsOutcomes, skipped, place } = dependency;
  return {
    name: `the network to ${name} is ${fault.name}`,
    ...(skipped === undefined ? {} : { skipped }),
    run: (seed) => {
      const proxies: TcpProxy[] = [];
      return play({
        options: (undo) =>
          place(async (url) => {
            const proxy = await startTcpProxy(url);
            undo(proxy.stop);
            proxies.push(proxy);
            return proxy.url;
          }, undo),
        act: async ({ world }) => {
          const end = bearsOutcomes && fault.losesReplies ? world.disturbances.begin(fault.name) : () => undefined;
          const random = createRandom(seed);
          await loadWhile(world.load, async () => {
            for (const proxy of proxies) await fault.befall(proxy, random);
          });
          end();
        },
      });
    },
  };
};

/** Every network fault of every dependency, under load. */
export const NETWORK_SCENARIOS: readonly Scenario[] = DEPENDENCIES.flatMap((dependency) =>
  NETWORK_FAULTS.map((fault) => scenario(dependency, fault)),
);
