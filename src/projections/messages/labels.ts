/** What messages can be looked up by without knowing it: keyed digests of addresses, tags and metadata. */
export type LabelKind = 'to' | 'from' | 'tag' | 'metadata';

export const labelOf = (kind: LabelKind, digest: string): string => `${kind}:${digest}`;
