import type { Config } from '../config.ts';
import type { HealthParts } from '../http/service-health.ts';
import { mailProblems } from './mail-problems.ts';
import type { Engines } from './open-engines.ts';
import { trySmarthost } from './try-smarthost.ts';

/** Each check is a session with the smarthost. Shorter annoys it, longer is late to say that it refuses. */
const CHECK_EVERY_MS = 60_000;

type MailHealth = Awaited<ReturnType<HealthParts['mail']>>;

const check = async (config: Config, { context, system }: Engines): Promise<MailHealth> => {
  const { mail, bounceDomain = null, ehloName = null, publicUrl = null } = config;
  const at = system.now().toISOString();
  if (mail.kind === 'capture') return { facts: { kind: mail.kind, smarthost: null, checked_at: at }, problems: [] };
  const tried = mail.kind === 'smarthost' ? await trySmarthost(mail.url, config.ehloName) : undefined;
  const problems = await mailProblems(context, { kind: mail.kind, bounceDomain, ehloName, publicUrl }, config);
  const smarthost = tried === undefined ? null : tried.works ? 'works' : 'refuses';
  return {
    facts: { kind: mail.kind, smarthost, checked_at: at },
    problems: tried?.works === false ? [tried.sentence, ...problems] : problems,
  };
};

/** The smarthost and the names in the DNS. What was found is answered again for a minute, and while the next check runs. */
export const mailHealth = ({
  config,
  engines,
}: {
  readonly config: Config;
  readonly engines: Engines;
}): HealthParts['mail'] => {
  let checking: Promise<MailHealth> | undefined;
  let last: MailHealth | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;

  const checkNow = async (): Promise<MailHealth> => {
    nextMs = engines.system.monotonicMs() + CHECK_EVERY_MS;
    last = await check(config, engines);
    return last;
  };

  return async () => {
    if (checking === undefined && engines.system.monotonicMs() >= nextMs) {
      checking = checkNow().finally(() => {
        checking = undefined;
      });
      checking.catch(() => undefined); // who waits for it is told
    }
    if (last !== undefined) return last;
    if (checking === undefined) throw new Error('the last check failed');
    return checking;
  };
};
