import type { DnsAnswer } from '../../domain/ports/resolver.ts';
import { type IncludedAnswers, spfTargets } from '../../domain/sending-domain/diagnosis/spf.ts';
import { LOOKUPS_MAX } from '../../domain/sending-domain/diagnosis/spf-record.ts';

type Answer = DnsAnswer<string> | null;

/** What the DNS says of the names that an SPF record includes, and that those include; as many as receivers ask for. */
export const lookAtIncluded = async (
  ask: (host: string) => Promise<Answer>,
  texts: readonly string[],
): Promise<IncludedAnswers> => {
  const included = new Map<string, Answer>();
  let open = spfTargets(texts);
  while (open.length > 0) {
    const hosts = [...new Set(open)].filter((host) => !included.has(host)).slice(0, LOOKUPS_MAX - included.size);
    const answers = await Promise.all(hosts.map(async (host) => ({ host, answer: await ask(host) })));
    for (const { host, answer } of answers) included.set(host, answer);
    open = answers.flatMap(({ answer }) => spfTargets(answer?.records ?? []));
  }
  return included;
};
