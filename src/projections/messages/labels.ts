/** What messages can be looked up by without knowing it: keyed digests of addresses and tags. */
export type LabelKind = 'to' | 'from' | 'tag';

export const labelOf = (kind: LabelKind, digest: string): string => `${kind}:${digest}`;
