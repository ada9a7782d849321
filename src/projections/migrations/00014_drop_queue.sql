-- Without Redis the queue is in memory now. Whatever was in its schema is found again in the log.
drop schema if exists queue cascade;
