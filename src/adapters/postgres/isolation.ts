/**
 * Said first on every connection: every statement here is written for it, and a database may have another default
 * (`alter database … set default_transaction_isolation`), under which appends and claims would fail one another.
 */
export const PIN_ISOLATION = 'set session characteristics as transaction isolation level read committed';
