import type { Answer } from 'dns-packet';
import { BadReply } from './bad-reply.ts';
import { plainName } from './question.ts';

/** Longer chains are mistakes, or circles. Resolvers themselves follow 8 to 16. */
export const ALIASES_MAX = 8;

/** CNAME records by their owner. @throws {BadReply} a name is an alias of two (RFC 2181 §10.1). */
const aliasesIn = (answers: readonly Answer[]): ReadonlyMap<string, string> => {
  const aliases = new Map<string, string>();
  for (const record of answers) {
    if (record.type !== 'CNAME') continue;
    const [owner, target] = [plainName(record.name), plainName(record.data)];
    if ((aliases.get(owner) ?? target) !== target) throw new BadReply(`${owner} is an alias of two names`);
    aliases.set(owner, target);
  }
  return aliases;
};

/** The names that `name` leads to by the CNAME records of an answer, the last one last. @throws {BadReply} too many. */
export const followAliases = (answers: readonly Answer[], name: string): readonly string[] => {
  const aliases = aliasesIn(answers);
  const followed: string[] = [];
  for (let target = aliases.get(name); target !== undefined; target = aliases.get(target)) {
    followed.push(target);
    if (followed.length > ALIASES_MAX) throw new BadReply(`${name} leads in a circle, or over too many aliases`);
  }
  return followed;
};
