
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE TYPE public.ward AS ENUM (
    'surgery',
    'children''s'
);

ALTER TYPE public.ward OWNER TO clinic;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.stays (
    id integer NOT NULL,
    case_number text,
    ward public.ward NOT NULL,
    age integer,
    sex character varying(1),
    remark text,
    cost numeric(8,2),
    seen date,
    code text,
    doctor integer,
    CONSTRAINT stays_age_check CHECK (((age >= 0) AND (age <= 120))),
    CONSTRAINT stays_check CHECK (((age < 200) OR ((sex)::text = 'f'::text))),
    CONSTRAINT stays_code_check CHECK ((length(code) <= 5)),
    CONSTRAINT stays_cost_check CHECK (((cost >= (0)::numeric) AND (cost <= 99999.5))),
    CONSTRAINT stays_remark_check CHECK ((remark = ANY (ARRAY['a::b'::text, 'no; never'::text]))),
    CONSTRAINT stays_seen_check CHECK (((seen >= '2020-01-01'::date) AND (seen <= '2024-12-31'::date))),
    CONSTRAINT stays_sex_check CHECK (((sex)::text = ANY ((ARRAY['f'::character varying, 'm'::character varying])::text[])))
);

ALTER TABLE public.stays OWNER TO clinic;

CREATE SEQUENCE public.stays_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE public.stays_id_seq OWNER TO clinic;

ALTER SEQUENCE public.stays_id_seq OWNED BY public.stays.id;

ALTER TABLE ONLY public.stays ALTER COLUMN id SET DEFAULT nextval('public.stays_id_seq'::regclass);

ALTER TABLE ONLY public.stays
    ADD CONSTRAINT stays_pkey PRIMARY KEY (id);

CREATE UNIQUE INDEX one_case ON public.stays USING btree (case_number);

ALTER TABLE ONLY public.stays
    ADD CONSTRAINT stays_doctor_fkey FOREIGN KEY (doctor) REFERENCES public.doctors(doctor);

