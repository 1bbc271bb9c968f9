-- The event log: the exact wire bytes, append-only.
create table caseops.events (
    position bigint generated always as identity primary key,
    key text not null,
    sequence bigint not null,
    stream text not null,
    streamversion integer not null,
    id uuid not null unique,
    type text not null,
    source text not null,
    writer text not null,
    time timestamptz not null,
    tenant text not null,
    runid text,
    correlationid text,
    causationid text,
    traceparent text,
    planversion integer,
    dataschema text not null,
    data bytea not null check (octet_length(data) <= 262144),
    constraint events_key_sequence unique (key, sequence),
    constraint events_stream_version unique (stream, streamversion)
);

create view caseops.events_readable as
select position, key, sequence, stream, streamversion, id, type, source, time, tenant, runid,
       causationid, convert_from(data, 'UTF8')::jsonb as data
from caseops.events;

create table caseops.key_sequences (
    key text primary key,
    last bigint not null
) with (fillfactor = 50);

-- What is still to publish. Rows of the log take their bytes from events.
create table caseops.outbox (
    position bigint generated always as identity primary key,
    kind text not null check (kind in ('log', 'command', 'dead_letter', 'artifact')),
    order_key bytea not null,
    slice smallint generated always as (get_byte(sha256(order_key), 0) & 63) stored,
    message_key bytea,
    topic text not null,
    event_position bigint,
    headers jsonb,
    value bytea,
    attempts integer not null default 0,
    created_at timestamptz not null default clock_timestamp(),
    parked_at timestamptz,
    error text,
    check ((kind = 'log') = (event_position is not null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
create index outbox_parked on caseops.outbox (order_key, topic) where parked_at is not null;

create table caseops.inbox (
    consumer text not null,
    tenant text not null,
    source text not null,
    id text not null,
    digest bytea not null,
    topic text not null,
    partition integer not null,
    "offset" bigint not null,
    seen_at timestamptz not null default clock_timestamp(),
    primary key (consumer, tenant, source, id)
);
create index inbox_seen on caseops.inbox (seen_at);

create table caseops.consumer_progress (
    consumer text not null,
    topic text not null,
    partition integer not null,
    next_offset bigint not null default 0,
    last_id text,
    updated_at timestamptz not null default clock_timestamp(),
    primary key (consumer, topic, partition)
) with (fillfactor = 50);

create table caseops.skips (
    consumer text not null,
    topic text not null,
    partition integer not null,
    reason text not null,
    count bigint not null,
    primary key (consumer, topic, partition, reason)
) with (fillfactor = 50);

create table caseops.dead_letters (
    consumer text not null,
    topic text not null,
    partition integer not null,
    "offset" bigint not null,
    key bytea,
    headers jsonb not null,
    value bytea,
    tenant text not null,
    source text not null,
    id text not null,
    reason text not null,
    detail text not null,
    attempts integer not null default 1,
    first_seen timestamptz not null default clock_timestamp(),
    last_seen timestamptz not null default clock_timestamp(),
    state text not null default 'parked',
    history jsonb not null default '[]',
    primary key (consumer, topic, partition, "offset")
);

create table caseops.open_cases (
    tenant text not null,
    environment text not null,
    service_group text not null,
    case_id text,
    run_id text,
    status text,
    last_signal_at timestamptz,
    primary key (tenant, environment, service_group)
);

create table caseops.case_signals (
    tenant text not null,
    fingerprint text not null,
    starts_at timestamptz not null,
    case_id text,
    run_id text,
    status text,
    last_signal_at timestamptz,
    primary key (tenant, fingerprint, starts_at)
);
create index case_signals_case on caseops.case_signals (case_id);

create table caseops.work_items (
    task_id text primary key,
    specialist text not null,
    tenant text not null,
    run_id text not null,
    key text not null,
    step_id text not null,
    plan_version integer not null,
    command jsonb not null,
    command_id text not null,
    task_token bytea,
    state text not null check (state in ('waiting', 'leased', 'done', 'cancelled', 'expired')),
    attempt integer not null,
    max_attempts integer not null,
    lease_token text,
    lease_until timestamptz,
    worker text,
    deadline_at timestamptz not null,
    created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index work_items_open on caseops.work_items (specialist, created_at)
    where state in ('waiting', 'leased');

create table caseops.deadlines (
    about text not null,
    subject_id text not null,
    run_id text not null,
    key text not null,
    tenant text not null,
    due_at timestamptz not null,
    cause_id text not null,
    primary key (run_id, about, subject_id)
);
create index deadlines_due on caseops.deadlines (due_at);

create table caseops.artifacts (
    sha256 text primary key check (sha256 ~ '^[0-9a-f]{64}$'),
    size bigint not null,
    media_type text not null,
    tenant text not null,
    stored_at timestamptz not null default clock_timestamp(),
    bytes bytea check (octet_length(bytes) <= 262144)
);

create table caseops.clock (
    one boolean primary key default true check (one),
    shift interval not null default '0'
);
insert into caseops.clock default values;
create function caseops.now() returns timestamptz language sql volatile as
    $$ select clock_timestamp() + shift from caseops.clock $$;

-- Views: folds of the log, all rebuildable.
create table caseops.view_progress (
    view text not null,
    key text not null,
    sequence bigint not null,
    held text,
    primary key (view, key)
) with (fillfactor = 70);

create table caseops.run_view (
    run_id text primary key,
    case_id text,
    tenant text not null,
    kind text not null,
    service text not null,
    status text not null,
    result_status text,
    outcome text,
    started_at timestamptz not null,
    completed_at timestamptz,
    deadline_at timestamptz not null,
    sequence bigint not null,
    log_partition integer not null,
    first_offset bigint not null,
    document jsonb not null
) with (fillfactor = 70);
create index run_view_recent on caseops.run_view (tenant, started_at desc);

create table caseops.case_view (
    case_id text primary key,
    run_id text not null unique,
    tenant text not null,
    environment text not null,
    service_group text not null,
    status text not null,
    opened_at timestamptz not null,
    document jsonb not null
) with (fillfactor = 70);

-- One role per service. A role appends to its own stream categories only.
do $$
declare
    name text;
begin
    foreach name in array array['intake', 'supervisor', 'join_engine', 'specialist',
                                'deadline_clock', 'outbox_relay', 'projector', 'reader']
    loop
        if not exists (select from pg_roles where rolname = 'caseops_' || name) then
            begin
                execute format('create role %I nologin', 'caseops_' || name);
            exception when duplicate_object or unique_violation then null;
            end;
        end if;
        execute format('grant %I to current_user', 'caseops_' || name);
        execute format('grant usage on schema caseops to %I', 'caseops_' || name);
        execute format('grant select on caseops.clock to %I', 'caseops_' || name);
        execute format('grant execute on function caseops.now() to %I', 'caseops_' || name);
    end loop;
    foreach name in array array['intake', 'supervisor', 'join_engine', 'specialist',
                                'deadline_clock']
    loop
        execute format('grant select, insert on caseops.events, caseops.inbox to %I', 'caseops_' || name);
        execute format('grant insert on caseops.outbox to %I', 'caseops_' || name);
        execute format('grant select, insert, update on caseops.key_sequences, caseops.skips, '
                       'caseops.consumer_progress, caseops.dead_letters to %I', 'caseops_' || name);
        execute format('grant select on caseops.artifacts to %I', 'caseops_' || name);
    end loop;
end
$$;

alter table caseops.events enable row level security;
alter table caseops.events force row level security;
create policy events_read on caseops.events for select using (true);
create policy intake_appends on caseops.events for insert to caseops_intake
    with check ((starts_with(stream, 'case/') or starts_with(stream, 'request/')) and writer = 'intake');
create policy supervisor_appends on caseops.events for insert to caseops_supervisor
    with check (starts_with(stream, 'run/') and writer = 'supervisor');
create policy join_engine_appends on caseops.events for insert to caseops_join_engine
    with check (starts_with(stream, 'join/') and writer = 'join_engine');
create policy specialist_appends on caseops.events for insert to caseops_specialist
    with check (starts_with(stream, 'delegation/') and writer = 'specialist');
create policy deadline_clock_appends on caseops.events for insert to caseops_deadline_clock
    with check (starts_with(stream, 'deadline/') and writer = 'deadline_clock');

grant select, insert, update on caseops.open_cases, caseops.case_signals to caseops_intake;
grant select, insert, update on caseops.work_items to caseops_specialist;
grant insert on caseops.artifacts to caseops_specialist;
grant select, insert, update, delete on caseops.deadlines to caseops_deadline_clock;
grant delete on caseops.inbox to caseops_deadline_clock;
grant select on caseops.events to caseops_outbox_relay, caseops_projector, caseops_reader;
grant select, update, delete on caseops.outbox to caseops_outbox_relay;
grant insert on caseops.outbox to caseops_projector;
-- The one statement of a batch names these tables; no policy lets a projector append events.
grant insert on caseops.events to caseops_projector;
grant select, insert on caseops.inbox to caseops_projector;
grant select, insert, update on caseops.key_sequences to caseops_projector;
grant select, insert, update on caseops.skips, caseops.consumer_progress, caseops.dead_letters,
    caseops.view_progress, caseops.run_view, caseops.case_view to caseops_projector;
grant select on all tables in schema caseops to caseops_reader;
