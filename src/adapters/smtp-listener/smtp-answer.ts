/** A reply that says no, as `smtp-server` takes it. @param text its enhanced code (RFC 3463) first. */
export const smtpAnswer = (responseCode: number, text: string): Error =>
  Object.assign(new Error(text), { responseCode });
