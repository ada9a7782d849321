/** What the button of the page posts; never what programs post (RFC 8058 §3.1). */
export const CONFIRMATION = { name: 'confirmed', value: 'yes' } as const;
/** What programs post (RFC 8058 §3.1). */
export const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const;
