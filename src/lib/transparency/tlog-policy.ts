import { COSIGNATURE, ED25519, parseVerifierKey, type VerifierKey } from './signed-note.ts';

/**
 * Trust policies (C2SP tlog-policy): which logs and witnesses are known, and how many of the latter must have cosigned.
 */

/** Malformed policy. The message is a sentence. */
export class MalformedPolicy extends Error {
  override readonly name = 'MalformedPolicy';
}

/** A group is satisfied by `threshold` of its members, each the name of a witness or of an earlier group. */
interface Group {
  readonly threshold: number;
  readonly members: readonly string[];
}

export interface Policy {
  readonly logs: readonly VerifierKey[];
  /** Keys by name in the policy, which may differ from the name in the key. */
  readonly witnesses: ReadonlyMap<string, VerifierKey>;
  /** URLs of witnesses that are asked to cosign, by name in the policy. Witnesses that are only verified have none. */
  readonly urls: ReadonlyMap<string, string>;
  readonly groups: ReadonlyMap<string, Group>;
  /** Name of a witness or a group; `none`: no cosignature is required. */
  readonly quorum: string;
}

export const NO_QUORUM = 'none';

export const NO_POLICY: Policy = {
  logs: [],
  witnesses: new Map(),
  urls: new Map(),
  groups: new Map(),
  quorum: NO_QUORUM,
};

/** Longer policies are rejected. The specification requires room for 32 of each. */
const LINES_MAX = 1_000;

interface Draft {
  readonly logs: VerifierKey[];
  readonly witnesses: Map<string, VerifierKey>;
  readonly urls: Map<string, string>;
  readonly groups: Map<string, Group>;
  readonly members: Set<string>;
  quorum: string | null;
}

const requireThat = (holds: boolean, problem: string): void => {
  if (!holds) throw new MalformedPolicy(problem);
};

const isKnown = ({ witnesses, groups }: Pick<Draft, 'witnesses' | 'groups'>, name: string): boolean =>
  witnesses.has(name) || groups.has(name);

const isSameKey = (one: VerifierKey, other: VerifierKey): boolean => one.publicKey.equals(other.publicKey);

const addLog = ({ logs }: Draft, [vkey = '']: readonly string[]): void => {
  const key = parseVerifierKey(vkey);
  requireThat(key.type !== COSIGNATURE, `the key of the log ${key.name} is a witness's`);
  requireThat(!logs.some((log) => isSameKey(log, key)), `the log ${key.name} is listed twice`);
  logs.push(key);
};

const addWitness = (draft: Draft, [name = '', vkey = '', url]: readonly string[]): void => {
  const key = parseVerifierKey(vkey);
  requireThat(key.type !== ED25519, `the key of witness ${name} does not sign cosignatures`);
  requireThat(name !== NO_QUORUM && !isKnown(draft, name), `the name ${name} is taken`);
  const isRepeated = [...draft.witnesses.values()].some((witness) => isSameKey(witness, key));
  requireThat(!isRepeated, `the key of witness ${name} is listed twice`);
  draft.witnesses.set(name, key);
  if (url !== undefined) draft.urls.set(name, url);
};

const thresholdOf = (word: string, members: number): number => {
  if (word === 'all') return members;
  if (word === 'any') return 1;
  return /^[1-9]\d{0,3}$/.test(word) ? Number(word) : 0;
};

const addGroup = (draft: Draft, [name = '', word = '', ...members]: readonly string[]): void => {
  requireThat(name !== '' && name !== NO_QUORUM && !isKnown(draft, name), `the name ${name} is taken`);
  const threshold = thresholdOf(word, members.length);
  requireThat(threshold >= 1 && threshold <= members.length, `group ${name} needs all, any or a number of its members`);
  for (const member of members) {
    requireThat(isKnown(draft, member), `group ${name} names ${member}, which no earlier line defines`);
    requireThat(!draft.members.has(member), `${member} is in two groups`);
    draft.members.add(member);
  }
  draft.groups.set(name, { threshold, members });
};

const setQuorum = (draft: Draft, [name = '']: readonly string[]): void => {
  requireThat(draft.quorum === null, 'there is a second quorum line');
  requireThat(name === NO_QUORUM || isKnown(draft, name), `no earlier line defines the quorum ${name}`);
  draft.quorum = name;
};

const LINES: Readonly<Record<string, (draft: Draft, words: readonly string[]) => void>> = {
  log: addLog,
  witness: addWitness,
  group: addGroup,
  quorum: setQuorum,
};

/** @throws {MalformedPolicy | MalformedNote} */
export const parsePolicy = (text: string): Policy => {
  const lines = text.split('\n');
  requireThat(lines.length <= LINES_MAX, `a policy has ${LINES_MAX} lines at most`);
  const draft: Draft = {
    logs: [],
    witnesses: new Map(),
    urls: new Map(),
    groups: new Map(),
    members: new Set(),
    quorum: null,
  };
  for (const line of lines) {
    const [word = '', ...words] = line.split(/[ \t]+/).filter((each) => each !== '');
    if (word === '' || word.startsWith('#')) continue;
    const read = LINES[word];
    if (read === undefined) throw new MalformedPolicy(`a policy has no line '${word}'`);
    read(draft, words);
  }
  const { logs, witnesses, urls, groups, quorum } = draft;
  if (quorum === null) throw new MalformedPolicy('a policy has a quorum line');
  return { logs, witnesses, urls, groups, quorum };
};

/** A policy as a file without URLs, for verifiers, which contact no witness. */
export const policyText = ({ logs, witnesses, groups, quorum }: Policy): string =>
  [
    ...logs.map(({ text }) => `log ${text}`),
    ...[...witnesses].map(([name, { text }]) => `witness ${name} ${text}`),
    ...[...groups].map(([name, { threshold, members }]) => `group ${name} ${threshold} ${members.join(' ')}`),
    `quorum ${quorum}`,
    '',
  ].join('\n');

/** True if witnesses with these names satisfy the quorum. */
export const meetsQuorum = ({ groups, quorum }: Policy, cosigners: ReadonlySet<string>): boolean => {
  const isMet = (name: string): boolean => {
    const group = groups.get(name);
    return group === undefined ? cosigners.has(name) : group.members.filter(isMet).length >= group.threshold;
  };
  return quorum === NO_QUORUM || isMet(quorum);
};
