/** Why TLS is used: because the server offers it, because we require it, or because the domain does (RFC 8461, RFC 7672). */
export type TlsPolicy = 'opportunistic' | 'required' | 'mta-sts' | 'dane';
