-- One login per service, a member of that service's role only. Safe to run again; rotates passwords.
\getenv intake INTAKE_PASSWORD
\getenv supervisor SUPERVISOR_PASSWORD
\getenv join_engine JOIN_ENGINE_PASSWORD
\getenv deadline_clock DEADLINE_CLOCK_PASSWORD
\getenv specialist SPECIALIST_PASSWORD
\getenv projector PROJECTOR_PASSWORD
\getenv outbox_relay OUTBOX_RELAY_PASSWORD

create temporary table logins (name text, password text);
insert into logins values
    ('intake', :'intake'),
    ('supervisor', :'supervisor'),
    ('join_engine', :'join_engine'),
    ('deadline_clock', :'deadline_clock'),
    ('specialist', :'specialist'),
    ('projector', :'projector'),
    ('outbox_relay', :'outbox_relay');

select format('create role %I login', 'svc_' || name) from logins
 where not exists (select from pg_roles where rolname = 'svc_' || name) \gexec
select format('alter role %I password %L', 'svc_' || name, password) from logins \gexec
select format('grant %I to %I', 'caseops_' || name, 'svc_' || name) from logins \gexec
